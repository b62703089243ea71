import type { Node, Store } from "../store.ts"

/**
 * Tells the log how far the reactors of this node have come, and learns how far those of the node
 * before it had: whichever is further. What was done since the last time may be done again, by a
 * node that begins with an empty folder.
 */
export async function shareReactorPositions(
  { database, exclusive }: Store,
  { reached }: Node,
): Promise<void> {
  const own = database
    .query<{ name: string; position: number }, []>("SELECT name, position FROM reactor")
    .all()
  const furthest = await reached(new Map(own.map(({ name, position }) => [name, position])))
  const move = database.query<unknown, [string, number]>(
    `INSERT INTO reactor (name, position) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`,
  )
  const behind = [...furthest].filter(
    ([name, position]) => (own.find((each) => each.name === name)?.position ?? -1) < position,
  )
  if (behind.length === 0) return
  await exclusive(() => {
    for (const [name, position] of behind) move.run(name, position)
  })
}
