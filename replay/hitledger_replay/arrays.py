"""The columns that traces and simulations are made of."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
