"""Prices of models over time: a dated list, dated corrections, and the user's own prices."""

from hitledger.prices.book import PriceBook
from hitledger.prices.rates import Rates, UnknownPrice, WriteRate

__all__ = ["PriceBook", "Rates", "UnknownPrice", "WriteRate"]
