"""Sensors: what starts runs by itself."""
