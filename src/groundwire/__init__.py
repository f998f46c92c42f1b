"""An agent framework in which nothing is corrected unless something outside the model said it was wrong."""

__version__ = "0.1.0"
