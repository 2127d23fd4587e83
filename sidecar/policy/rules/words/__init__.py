"""Wording per language: data only, one file per language, loaded and compiled when first asked for."""
