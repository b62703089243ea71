import * as z from "zod/mini"
import { type Clock, delay } from "../../kernel/clock.ts"
import { type CommandTable, type Flag, type Flags, jsonFlag, usageError } from "../command-line.ts"
import { sendCommand } from "../control.ts"
import { folderFlags, settingFlagsOf } from "../flags.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"

/** A request for events, also sent over the control socket. Times are in ms since the epoch. */
export const eventRequest = z.lazy(() =>
  z.strictObject({
    /** The ID of the instance, if there are several. */
    instance: z.optional(z.string()),
    types: z.optional(z.array(z.string())),
    streams: z.optional(z.array(z.string())),
    id: z.optional(z.string()),
    editor: z.optional(z.string()),
    owner: z.optional(z.string()),
    since: z.optional(z.int()),
    until: z.optional(z.int()),
    /** Only events after this position, or before it if not `asc`. */
    from: z.optional(z.int()),
    asc: z.boolean(),
    limit: z.int().check(z.minimum(0), z.maximum(1000)),
  }),
)
export type EventRequest = Readonly<z.output<typeof eventRequest>>

const eventSchema = z.lazy(() =>
  z.object({
    position: z.int(),
    time: z.int(),
    type: z.string(),
    /** The kind and ID of the event's stream. */
    stream: z.string(),
    id: z.string(),
    /** The organization that owns the event. */
    owner: z.string(),
    /** The ID of the user who caused the event, or the name of a part of the process. */
    editor: z.string(),
    client: z.string(),
    /** The changed data, without personal data or secrets. */
    data: z.unknown(),
  }),
)

/** The events, and the position up to which all events were examined. */
export const eventAnswer = z.lazy(() =>
  z.object({ position: z.int(), events: z.array(eventSchema) }),
)
export type EventAnswer = Readonly<z.output<typeof eventAnswer>>
type ListedEvent = EventAnswer["events"][number]

const filterFlags = {
  "--type": {
    hint: "TYPES",
    help: "Only events of these types, such as user.locked,user.unlocked",
  },
  "--aggregate": {
    hint: "KINDS",
    help: "Only events of these kinds of resources, such as user,project",
  },
  "--id": { hint: "ID", help: "Only events of the resource with this ID" },
  "--editor": { hint: "ID", help: "Only events caused by this user" },
  "--owner": { hint: "ID", help: "Only events of this organization" },
  "--instance": { hint: "ID", help: "ID of the instance, if there are several" },
} as const satisfies Record<string, Flag>

const searchFlags = {
  "--since": {
    hint: "TIME",
    help: "Only events at or after this time: 2026-01-31T12:00:00Z, or 90m, 24h, 7d ago",
  },
  "--until": {
    hint: "TIME",
    help: "Only events at or before this time, in the same format as --since",
  },
  "--before": { hint: "POSITION", help: "Only events before this position, for the next page" },
  "--limit": { hint: "NUMBER", help: "Maximum number of events, up to 1000 (default: 100)" },
} as const satisfies Record<string, Flag>

type EventContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly print: (text: string) => void
}

/** The commands that print past and new events of a running server. */
export const eventCommands = (context: EventContext): CommandTable => ({
  "events search": {
    help: "List past events, newest first",
    flags: { ...folderFlags, ...filterFlags, ...searchFlags },
    run: async (flags) => {
      const request = {
        ...filterFrom(flags),
        ...timeRangeFrom(flags, context.clock.now()),
        asc: false,
      }
      const { events } = await requestEvents(dataFolderOf(context, flags), request)
      return { text: events.map(formatEvent).join("\n"), data: { events } }
    },
  },
  "events tail": {
    help: "Print new events until stopped",
    flags: {
      ...folderFlags,
      ...filterFlags,
      "--after": { hint: "POSITION", help: "Start after this position instead of now" },
      "--json": { ...jsonFlag, help: "Print one JSON object per line" },
    },
    hasNoJson: true,
    run: (flags) => follow(context, flags),
  },
})

const dataFolderOf = ({ env }: EventContext, flags: Flags): Folder =>
  folderAt(readConfig({ flags: settingFlagsOf(flags), env }).data)

const requestEvents = async (folder: Folder, request: EventRequest): Promise<EventAnswer> =>
  eventAnswer.parse(await sendCommand(folder, "events", request))

const pollMs = 500
const pageSize = 500

/**
 * Requests one part after another. `position` is where to continue, even if no events were found.
 */
async function follow(context: EventContext, flags: Flags): Promise<never> {
  const folder = dataFolderOf(context, flags)
  const filter = { ...filterFrom(flags), asc: true }
  const { position } = await requestEvents(folder, { ...filter, limit: 0 })
  let from = parseInteger(flags, "--after") ?? position
  for (;;) {
    const answer = await requestEvents(folder, { ...filter, from, limit: pageSize })
    const { events } = answer
    for (const each of events)
      context.print(flags["--json"] ? JSON.stringify(each) : formatEvent(each))
    const isMore = events.length === pageSize
    const last = events.at(-1)?.position ?? from
    // If all events were returned, everything up to `position` was examined, and newer events may
    // already be included.
    from = isMore ? last : Math.max(answer.position, last)
    if (!isMore) await delay(pollMs)
  }
}

function filterFrom(flags: Flags): Pick<EventRequest, "types" | "streams" | "id" | "editor"> {
  return {
    ...optionalField("types", parseList(flags["--type"])),
    ...optionalField("streams", parseList(flags["--aggregate"])),
    ...optionalField("id", flags["--id"]),
    ...optionalField("editor", flags["--editor"]),
    ...optionalField("owner", flags["--owner"]),
    ...optionalField("instance", flags["--instance"]),
  }
}

function timeRangeFrom(flags: Flags, now: number): Pick<EventRequest, "since" | "limit"> {
  const limit = parseInteger(flags, "--limit") ?? 100
  if (limit < 1 || limit > 1000) throw usageError("--limit must be from 1 to 1000")
  return {
    limit,
    ...optionalField("since", parseTime(flags, "--since", now)),
    ...optionalField("until", parseTime(flags, "--until", now)),
    ...optionalField("from", parseInteger(flags, "--before")),
  }
}

const optionalField = (name: string, value: unknown): object =>
  value === undefined ? {} : { [name]: value }

const parseList = (text: string | undefined) =>
  text?.split(",").flatMap((each) => each.trim() || [])

function parseInteger(flags: Flags, flag: string): number | undefined {
  const text = flags[flag]
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? text : Number(text)
  throw usageError(`${flag} must be an integer`)
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function parseTime(flags: Flags, flag: string, now: number): number | undefined {
  const text = flags[flag]
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (unit === "m" || unit === "h" || unit === "d") return now - Number(count) * units[unit]
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw usageError(`${flag} must be a time such as 2026-01-31T12:00:00Z, or 90m, 24h, 7d`)
}

/** An event as one line of text. */
function formatEvent({ position, time, type, stream, id, editor, data }: ListedEvent): string {
  const at = new Date(time).toISOString()
  return `${position}  ${at}  ${type}  ${stream}/${id}  ${editor || "-"}  ${JSON.stringify(data)}`
}
