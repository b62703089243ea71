import type { AnyEvent, Cx, Recorded } from "../../store/index.ts"
import { findClient } from "../app/index.ts"
import { instance } from "../instance/index.ts"
import { mayReadUser, permissionsOn, stateReader, type Target } from "../member/index.ts"
import { auditLogRetention } from "../quota/index.ts"
import { profile, shownNames } from "../user-lookup/index.ts"
import { type UserEvent, user } from "../user-model/index.ts"

export type RecordedEvent = Recorded<AnyEvent>

/** A user who caused an event. Names are empty where the caller may not see them. */
export type Editor = {
  readonly id: string
  readonly name: string
  readonly loginName: string
  readonly picture: string
}

/** A window of a list of events; `from` is a position, or a version in the list of one stream. */
export type Part = {
  readonly from: number | undefined
  readonly asc: boolean
  readonly limit: number
}

/** Since when what happened is shown, in ms UTC; undefined: since ever. */
export function keptSince(cx: Cx): number | undefined {
  const kept = auditLogRetention(cx)
  return kept === undefined ? undefined : cx.clock.now() - kept * 1000
}
/** Finds the editors of events, and looks up the names of each once. */
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

/** Who follows a link or enters a code has no session: the events have no editor. */
const editorIdOf = ({ type, id, editor }: EditedEvent): string =>
  editor.user === "" && provenTypes.has(type) ? id : editor.user

/** Events of users that require a secret of theirs: without an editor, users caused them. */
const provenTypes: ReadonlySet<string> = new Set<UserEvent["type"]>([
  "user.human.password.changed",
  "user.human.email.verified",
  "user.human.invite.check.succeeded",
])

/** Who did it, as they are named today: what they were called then is erased with them. */
function editorOf(cx: Cx, id: string): Editor {
  const home = cx.store.receipt(cx, user, id)?.owner
  const known = home !== undefined && mayReadUser(cx, id, home) ? profile(cx, id) : undefined
  if (home === undefined || !known) return { id, name: "", loginName: "", picture: "" }
  const { preferredLoginName } = shownNames(cx, { user_name: known.userName, org: home })
  const { name, picture } = known
  return { id, name, loginName: preferredLoginName, picture }
}

/**
 * The client by which somebody did something, by its name: where it is gone, or the caller neither
 * did it nor may see the application, that is empty. Our own applications everybody knows.
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
