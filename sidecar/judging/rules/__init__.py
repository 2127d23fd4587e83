"""Rules that judge a turn without a model: one file per rule, combined by `every`. Pure."""
