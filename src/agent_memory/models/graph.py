"""A knowledge graph as the official MCP memory server shows one: entities by name, with observations, and relations."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Name, Text


class _Lenient(Model):
    """Fields that are not known are passed over, as the official server does."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Node(_Lenient):
    """An entity."""

    name: Name = Field(description="The name of the entity")
    entity_type: Name = Field(description="The type of the entity")
    observations: list[Text] = Field(description="An array of observation contents associated with the entity")


class Edge(_Lenient):
    """A relation between two entities, by their names."""

    source: Name = Field(description="The name of the entity where the relation starts")
    target: Name = Field(description="The name of the entity where the relation ends")
    relation_type: Name = Field(description="The type of the relation")


class Observing(_Lenient):
    """What is to be noted about an entity."""

    entity_name: Name = Field(description="The name of the entity to add the observations to")
    contents: list[Text] = Field(description="An array of observation contents to add")


class Unobserving(_Lenient):
    """What is no longer to be noted about an entity."""

    entity_name: Name = Field(description="The name of the entity containing the observations")
    observations: list[Text] = Field(description="An array of observations to delete")


class Added(Model):
    """What is new about one entity."""

    entity_name: str
    added_observations: list[str]


class Nodes(Model):
    """The entities that were created."""

    entities: list[Node]


class Edges(Model):
    """The relations that were created."""

    relations: list[Edge]


class Observed(Model):
    """The observations that were added."""

    results: list[Added]


class KnowledgeGraph(Model):
    """Entities, and relations that start or end at one of them."""

    entities: list[Node]
    relations: list[Edge]


class Deleted(Model):
    """That it is done, and what was not there."""

    success: bool
    message: str


class GraphImported(Model):
    """What was taken over of a file, what was there already, and the lines that were left out, by number."""

    entities: int
    observations: int
    relations: int
    known: int
    bad: list[str]
