echo published
