"""cubake: GPU deep-learning images from a compatibility matrix, verified."""

__version__ = "0.1.0"
