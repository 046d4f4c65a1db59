"""What the assets are given: the settings, the database and the embedder."""
