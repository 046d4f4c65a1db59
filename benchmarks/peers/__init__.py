"""The same job by other tools, each as its documentation does it: Markdown files -> chunks -> MiniLM -> pgvector."""
