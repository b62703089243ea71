import * as z from "zod/mini"
import { type Clock, pause } from "../../kernel/clock.ts"
import { type CommandTable, type Flag, type Flags, jsonFlag, usageError } from "../command-line.ts"
import { ask } from "../control.ts"
import { folderFlags, settingsIn } from "../flags.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"

/** What is asked of the events; also what comes in through the control socket. Times are ms UTC. */
export const eventRequest = z.lazy(() =>
  z.strictObject({
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    types: z.optional(z.array(z.string())),
    streams: z.optional(z.array(z.string())),
    id: z.optional(z.string()),
    editor: z.optional(z.string()),
    owner: z.optional(z.string()),
    since: z.optional(z.int()),
    until: z.optional(z.int()),
    /** Only what comes after this position, or before it where not `asc`. */
    from: z.optional(z.int()),
    asc: z.boolean(),
    limit: z.int().check(z.minimum(0), z.maximum(1000)),
  }),
)
export type EventRequest = Readonly<z.output<typeof eventRequest>>

const event = z.lazy(() =>
  z.object({
    position: z.int(),
    time: z.int(),
    type: z.string(),
    /** The kind of the stream that it is of, and its id. */
    stream: z.string(),
    id: z.string(),
    /** The organisation that owns it. */
    owner: z.string(),
    /** The id of who did it, or the name of the part of the process. */
    editor: z.string(),
    client: z.string(),
    /** What has changed; never anything personal or secret. */
    data: z.unknown(),
  }),
)

/** What happened, and up to where everything was looked at. */
export const eventAnswer = z.lazy(() => z.object({ position: z.int(), events: z.array(event) }))
export type EventAnswer = Readonly<z.output<typeof eventAnswer>>
type ShownEvent = EventAnswer["events"][number]

const filterFlags = {
  "--type": { hint: "TYPES", help: "Only of these types, such as user.locked,user.unlocked" },
  "--aggregate": { hint: "KINDS", help: "Only of these kinds of things, such as user,project" },
  "--id": { hint: "ID", help: "Only of the thing with this id" },
  "--editor": { hint: "ID", help: "Only what this user did" },
  "--owner": { hint: "ID", help: "Only what is this organisation's" },
  "--instance": { hint: "ID", help: "Which instance, where there are several" },
} as const satisfies Record<string, Flag>

const searchFlags = {
  "--since": { hint: "TIME", help: "Not before: 2026-01-31T12:00:00Z, or 90m, 24h, 7d ago" },
  "--until": { hint: "TIME", help: "Not after; written like --since" },
  "--before": { hint: "POSITION", help: "Only what comes before: for the next part of a list" },
  "--limit": { hint: "NUMBER", help: "So many at most, up to 1000 (default: 100)" },
} as const satisfies Record<string, Flag>

type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly print: (text: string) => void
}

/** The commands that tell what has happened and what happens, on a server that runs. */
export const eventCommands = (lent: Lent): CommandTable => ({
  "events search": {
    help: "List what has happened, the newest first",
    flags: { ...folderFlags, ...filterFlags, ...searchFlags },
    run: async (flags) => {
      const request = { ...filterIn(flags), ...windowIn(flags, lent.clock.now()), asc: false }
      const { events } = await asked(folderIn(lent, flags), request)
      return { text: events.map(eventText).join("\n"), data: { events } }
    },
  },
  "events tail": {
    help: "Print what happens from now on, until it is stopped",
    flags: {
      ...folderFlags,
      ...filterFlags,
      "--after": { hint: "POSITION", help: "Begin after this position instead of now" },
      "--json": { ...jsonFlag, help: "A line of JSON for each" },
    },
    plain: true,
    run: (flags) => follow(lent, flags),
  },
})

const folderIn = ({ env }: Lent, flags: Flags): Folder =>
  folderAt(readConfig({ flags: settingsIn(flags), env }).data)

const asked = async (folder: Folder, request: EventRequest): Promise<EventAnswer> =>
  eventAnswer.parse(await ask(folder, "events", request))

const pollMs = 500
const part = 500

/** One part after another: `position` says from where to go on, also where nothing was found. */
async function follow(lent: Lent, flags: Flags): Promise<never> {
  const folder = folderIn(lent, flags)
  const filter = { ...filterIn(flags), asc: true }
  const { position } = await asked(folder, { ...filter, limit: 0 })
  let from = numberIn(flags, "--after") ?? position
  for (;;) {
    const answer = await asked(folder, { ...filter, from, limit: part })
    const { events } = answer
    for (const each of events) lent.print(flags["--json"] ? JSON.stringify(each) : eventText(each))
    const isMore = events.length === part
    const last = events.at(-1)?.position ?? from
    // Where all was found, all up to `position` was looked at, and perhaps what came meanwhile.
    from = isMore ? last : Math.max(answer.position, last)
    if (!isMore) await pause(pollMs)
  }
}

function filterIn(flags: Flags): Pick<EventRequest, "types" | "streams" | "id" | "editor"> {
  return {
    ...given("types", listIn(flags["--type"])),
    ...given("streams", listIn(flags["--aggregate"])),
    ...given("id", flags["--id"]),
    ...given("editor", flags["--editor"]),
    ...given("owner", flags["--owner"]),
    ...given("instance", flags["--instance"]),
  }
}

function windowIn(flags: Flags, now: number): Pick<EventRequest, "since" | "limit"> {
  const limit = numberIn(flags, "--limit") ?? 100
  if (limit < 1 || limit > 1000) throw usageError("--limit must be from 1 to 1000")
  return {
    limit,
    ...given("since", timeIn(flags, "--since", now)),
    ...given("until", timeIn(flags, "--until", now)),
    ...given("from", numberIn(flags, "--before")),
  }
}

const given = (name: string, value: unknown): object =>
  value === undefined ? {} : { [name]: value }

const listIn = (text: string | undefined) => text?.split(",").flatMap((each) => each.trim() || [])

function numberIn(flags: Flags, flag: string): number | undefined {
  const text = flags[flag]
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? text : Number(text)
  throw usageError(`${flag} must be a whole number`)
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function timeIn(flags: Flags, flag: string, now: number): number | undefined {
  const text = flags[flag]
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (unit === "m" || unit === "h" || unit === "d") return now - Number(count) * units[unit]
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw usageError(`${flag} must be a time such as 2026-01-31T12:00:00Z, or 90m, 24h, 7d`)
}

/** A line for a person. */
function eventText({ position, time, type, stream, id, editor, data }: ShownEvent): string {
  const at = new Date(time).toISOString()
  return `${position}  ${at}  ${type}  ${stream}/${id}  ${editor || "-"}  ${JSON.stringify(data)}`
}
