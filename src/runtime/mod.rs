//! The composition root: puts engine, channels, API and console together.
