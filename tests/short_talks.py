"""Twenty short conversations, to test whether the engine's answers stay the same."""

from __future__ import annotations

from typing import NamedTuple

from chatsite.providers.embedded.provider import TRAINED_SYSTEM
from tests.token_ids import RoleText


class ShortTalk(NamedTuple):
    """One turn and a follow-up question."""

    statement: str
    reply: str
    follow_up: str

    @property
    def turn(self) -> list[RoleText]:
        return [("user", self.statement), ("assistant", self.reply)]

    @property
    def question(self) -> RoleText:
        return ("user", self.follow_up)


SYSTEM: RoleText = ("system", TRAINED_SYSTEM)
TALKS = tuple(
    ShortTalk(*talk.splitlines())
    for talk in """\
My ferry leaves Oslo at nine and lands at noon.
Then you are three hours at sea.
When do I land?

Our cat sleeps on the piano and wakes at every chord.
Play softly, then.
Where does the cat sleep?

The baker sells rye on Monday and honey cakes on Friday.
I would go on both days.
What is sold on Friday?

I planted four pear trees and one quince.
In three years you will have fruit.
What grows in my garden?

The red key opens the cellar, the blue one the attic.
I will keep them apart.
What does the blue key open?

Water boils at a lower temperature on a mountain.
Because the air is thinner there.
Why does tea taste weak up there?

Our lighthouse flashes twice and then rests.
So sailors know which one it is.
How could a sailor tell it apart?

The violin belonged to my aunt, who painted ships.
It is a fine thing to keep.
What did my aunt paint?

A train of nine cars needs two engines on this hill.
One alone would slip in rain.
What happens in the rain?

I count herons at the lake, seven since Sunday.
They are shy birds.
Write a line for my notebook.

The bridge was closed in May for new planks.
And the market moved to the square.
Where was the market then?

My brother mends clocks and never wears a watch.
He hears the time.
Describe my brother in a sentence.

Snow lay on the pass until the end of June.
The road must have opened late.
When could cars cross the pass?

We keep bees behind the school, in six green hives.
The children must like that.
How many hives are there?

The map shows a well that nobody has found.
It may have dried up long ago.
What should we look for?

A copper roof turns green in the rain.
It takes some twenty years.
Explain this to a child.

She speaks Finnish at home and Dutch at work.
Two very different languages.
Which one does she speak at work?

The choir meets in the old mill on Thursdays.
I hope it is heated.
Suggest a song for winter.

The potter fires her kiln at night.
The glow can be seen from the road.
Why might she work at night?

Salt keeps fish for months, smoke for weeks.
So take salt for a long voyage.
What keeps fish longer?
""".strip().split("\n\n")
)
