import { aggregateOf, type EventContent, presentedType } from "./name.ts"

/** Separates account and device in a stream ID. */
export const deviceSeparator = " device:"
/** Separates account and directory in a stream ID. */
export const directorySeparator = " directory:"

export type StoredEvent = EventContent & {
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** The organization or instance that owns the stream. */
  readonly owner: string
}

/** An event as the interface presents it. */
export type PresentedEvent = {
  readonly aggregateType: string
  readonly aggregateId: string
  readonly type: string
  readonly payload: object
}

/** Streams whose first event names their parent. */
export const hasParent = ({ stream, type }: Pick<StoredEvent, "stream" | "type">): boolean =>
  childStreams.has(aggregateOf(stream, type)) && stream !== aggregateOf(stream, type)

const childStreams = new Set(["project", "group"])

/**
 * Presents an event. `first` is the payload of the stream's first event, which is only needed for
 * streams with a parent.
 */
export function presentEvent(event: StoredEvent, first: object = {}): PresentedEvent {
  const aggregateType = aggregateOf(event.stream, event.type)
  return {
    aggregateType,
    aggregateId: event.stream === aggregateType ? event.id : aggregateIdOf(event, first),
    type: presentedType(event),
    payload: { ...streamIdFields(event, first), ...event.data },
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
      return findText(first, "projectId") ?? id
    case "group":
      return findText(data, "groupId") ?? findText(first, "groupId") ?? id
    case "user":
      return findText(data, "userId") ?? parseAccount(stream, id)
    default:
      return id
  }
}

/** Codes are counted by purpose and user, passwords also by device and directory. */
function parseAccount(stream: string, id: string): string {
  const account = stream === "code_count" ? id.slice(id.indexOf("/") + 1) : id
  return account.split(directorySeparator)[0]?.split(deviceSeparator)[0] ?? account
}

/** Values from the stream ID, which the aggregate ID replaces. */
function streamIdFields({ stream, id }: StoredEvent, first: object): object {
  if (stream === "app") return { appId: id }
  if (stream === "projectgrant") return { grantId: id }
  const userId = stream === "group_user" ? findText(first, "userId") : undefined
  return userId === undefined ? {} : { userIDs: [userId] }
}

function findText(data: object, name: string): string | undefined {
  const value: unknown = Reflect.get(data, name)
  return typeof value === "string" && value !== "" ? value : undefined
}
