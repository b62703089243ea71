import type { AnyEvent, Cx, PersistedEvent } from "../../store/index.ts"
import { findClient } from "../app/index.ts"
import { instance } from "../instance/index.ts"
import { canReadUser, permissionsOn, stateReader, type Target } from "../member/index.ts"
import { auditLogRetention } from "../quota/index.ts"
import { displayNames, findProfile } from "../user-lookup/index.ts"
import { type UserEvent, user } from "../user-model/index.ts"

export type RecordedEvent = PersistedEvent<AnyEvent>

/** The user who caused an event. Names are empty if the caller has no permission to read them. */
export type Editor = {
  readonly id: string
  readonly name: string
  readonly loginName: string
  readonly picture: string
}

/** A page of events; `from` is a position, or a version for the events of one stream. */
export type EventPage = {
  readonly from: number | undefined
  readonly asc: boolean
  readonly limit: number
}

/** The time of the oldest events to show, in ms UTC; undefined: no limit. */
export function retainedSince(cx: Cx): number | undefined {
  const kept = auditLogRetention(cx)
  return kept === undefined ? undefined : cx.clock.now() - kept * 1000
}
/** Returns a function that finds the editor of an event; it looks up each user once. */
export function editorsOf(cx: Cx): (event: EditedEvent) => Editor {
  const editors = new Map<string, Editor>()
  return (event) => {
    const id = editorIdOf(event)
    const known = editors.get(id) ?? editorOf(cx, id)
    editors.set(id, known)
    return known
  }
}

type EditedEvent = Pick<RecordedEvent, "type" | "id" | "editor">

/** Users who follow a link or enter a code have no session, so their events have no editor. */
const editorIdOf = ({ type, id, editor }: EditedEvent): string =>
  editor.user === "" && selfServiceTypes.has(type) ? id : editor.user

/** User events that require a secret of the user: without an editor, the user caused them. */
const selfServiceTypes: ReadonlySet<string> = new Set<UserEvent["type"]>([
  "user.human.password.changed",
  "user.human.email.verified",
  "user.human.invite.check.succeeded",
])

/** The editor with their current names; former names are erased with the user. */
function editorOf(cx: Cx, id: string): Editor {
  const home = cx.store.receipt(cx, user, id)?.owner
  const known = home !== undefined && canReadUser(cx, id, home) ? findProfile(cx, id) : undefined
  if (home === undefined || !known) return { id, name: "", loginName: "", picture: "" }
  const { preferredLoginName } = displayNames(cx, { user_name: known.userName, org: home })
  const { name, picture } = known
  return { id, name, loginName: preferredLoginName, picture }
}

/**
 * The name of the client that the editor used. Empty if the client was deleted, or if the caller is
 * not the editor and can't read the application. Names of built-in applications are public.
 */
export function clientNameOf(cx: Cx, { user: editor, client }: RecordedEvent["editor"]): string {
  const { projectId = "", name = "" } = findClient(cx, client)?.state ?? {}
  const isOwn = () => cx.store.state(cx, instance, cx.instance).projectId === projectId
  const isSeen =
    cx.caller.kind !== "user" ||
    isCaller(cx, editor) ||
    isOwn() ||
    holdsOn(cx, { level: "project", id: projectId }, "project.app.read")
  return isSeen ? name : ""
}

const isCaller = ({ caller }: Cx, userId: string): boolean =>
  caller.kind === "user" && caller.userId === userId

function holdsOn(cx: Cx, target: Target, permission: string): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return false
  return permissionsOn({ ...stateReader(cx), caller }, target, caller.userId).has(permission)
}
