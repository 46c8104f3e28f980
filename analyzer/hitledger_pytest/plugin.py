"""The fixture `prefix_budget`. Loaded by every pytest run of an environment, so it imports next to nothing."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hitledger_pytest.budget import PrefixBudget


@pytest.fixture(scope="session")
def prefix_budget(pytestconfig: pytest.Config) -> "PrefixBudget":
    """Checks renderers: `prefix_budget.check(render, baseline=…, logs=…, max_cost_increase="5%")`."""
    from hitledger_pytest.budget import PrefixBudget

    return PrefixBudget(pytestconfig.rootpath)
