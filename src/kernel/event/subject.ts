import { aggregateOf, type EventContent, presentedType } from "./name.ts"

/** Between an account and the device that it is tried from, in the ID of a stream. */
export const onDevice = " device:"
/** Between an account and the directory that keeps its password. */
export const inDirectory = " directory:"

export type StoredEvent = EventContent & {
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** The organization or instance that owns the stream. */
  readonly owner: string
}

/** An event as the interface presents it. */
export type Presented = {
  readonly aggregateType: string
  readonly aggregateId: string
  readonly type: string
  readonly payload: object
}

/** Streams whose first event names what they are part of. */
export const isPart = ({ stream, type }: Pick<StoredEvent, "stream" | "type">): boolean =>
  parts.has(aggregateOf(stream, type)) && stream !== aggregateOf(stream, type)

const parts = new Set(["project", "group"])

/**
 * Presents an event. `first` is the payload of the first event of its stream, which is read only of
 * streams that are part of something.
 */
export function present(event: StoredEvent, first: object = {}): Presented {
  const aggregateType = aggregateOf(event.stream, event.type)
  return {
    aggregateType,
    aggregateId: event.stream === aggregateType ? event.id : aggregateIdOf(event, first),
    type: presentedType(event),
    payload: { ...added(event, first), ...event.data },
  }
}

function aggregateIdOf(event: StoredEvent, first: object): string {
  const { stream, id, data, owner, instance } = event
  switch (aggregateOf(stream, event.type)) {
    case "org":
      return owner
    case "instance":
      return instance
    case "project":
      return textIn(first, "projectId") ?? id
    case "group":
      return textIn(data, "groupId") ?? textIn(first, "groupId") ?? id
    case "user":
      return textIn(data, "userId") ?? accountIn(stream, id)
    default:
      return id
  }
}

/** Codes are counted by purpose and user, passwords also by device and directory. */
function accountIn(stream: string, id: string): string {
  const account = stream === "code_count" ? id.slice(id.indexOf("/") + 1) : id
  return account.split(inDirectory)[0]?.split(onDevice)[0] ?? account
}

/** What the ID of the stream said: it is replaced by that of the aggregate. */
function added({ stream, id }: StoredEvent, first: object): object {
  if (stream === "app") return { appId: id }
  if (stream === "projectgrant") return { grantId: id }
  const userId = stream === "group_user" ? textIn(first, "userId") : undefined
  return userId === undefined ? {} : { userIDs: [userId] }
}

function textIn(data: object, name: string): string | undefined {
  const value: unknown = Reflect.get(data, name)
  return typeof value === "string" && value !== "" ? value : undefined
}
