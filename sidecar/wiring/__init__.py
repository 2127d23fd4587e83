"""The only package that imports all others: one builder for each; `sidecar` combines them."""
