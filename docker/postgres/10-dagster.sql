-- Run once, when the data folder is made: Dagster's records have a database of their own.
CREATE DATABASE dagster;
