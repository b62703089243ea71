import { presentedType } from "../../kernel/event/name.ts"
import type { AnyAggregate, AnyEvent, Cx, Recorded } from "../../store/index.ts"
import { findClient } from "../app/index.ts"
import { instance } from "../instance/index.ts"
import { permissionsOn, stateReader } from "../member/index.ts"
import { auditLogRetention } from "../quota/index.ts"
import { profile, shownNames } from "../user-lookup/index.ts"
import { user } from "../user-model/index.ts"

/** One thing that happened; what was said then is not shown, for it may be private. */
export type Change = {
  readonly version: number
  readonly time: number
  /** As it is stored, and as the interface names it. */
  readonly type: string
  readonly name: string
  /** The organisation that owns what changed. */
  readonly owner: string
  readonly editor: Editor
}

/** Names are empty where the caller may not see the user, or nobody has the id any more. */
export type Editor = {
  readonly id: string
  readonly name: string
  readonly loginName: string
  readonly picture: string
}

/** Which part of the story is wanted. */
export type Part = {
  readonly from: number | undefined
  readonly asc: boolean
  readonly limit: number
}

/**
 * What happened to one thing, the newest first unless told; where the instance has a limit for
 * that, only what is newer.
 */
export async function changesOf(
  cx: Cx,
  kind: AnyAggregate,
  id: string,
  part: Part,
): Promise<readonly Change[]> {
  const { instance } = cx
  const since = keptSince(cx)
  const events = await cx.store.log.history({ ...part, instance, stream: kind.stream, id, since })
  const named = editorsOf(cx)
  return events.map((event) => {
    const { version, time, type, owner, editor } = event
    return {
      ...{ version, time, type, owner, name: presentedType(event) },
      editor: named(editor.user),
    }
  })
}

/** Since when what happened is shown, in ms UTC; undefined: since ever. */
export function keptSince(cx: Cx): number | undefined {
  const kept = auditLogRetention(cx)
  return kept === undefined ? undefined : cx.clock.now() - kept * 1000
}

/** Names those who did something, each looked up once. */
export function editorsOf(cx: Cx): (id: string) => Editor {
  const editors = new Map<string, Editor>()
  return (id) => {
    const known = editors.get(id) ?? editorOf(cx, id)
    editors.set(id, known)
    return known
  }
}

/** Who did it, as they are named today: what they were called then is erased with them. */
function editorOf(cx: Cx, id: string): Editor {
  const home = cx.store.receipt(cx, user, id)?.owner
  const known = home !== undefined && mayRead(cx, id, home) ? profile(cx, id) : undefined
  if (home === undefined || !known) return { id, name: "", loginName: "", picture: "" }
  const { preferredLoginName } = shownNames(cx, { user_name: known.userName, org: home })
  const { name, picture } = known
  return { id, name, loginName: preferredLoginName, picture }
}

/** Users are seen by themselves, and by who may read users where they belong. */
export function mayRead(cx: Cx, id: string, home: string): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return false
  if (caller.userId === id) return true
  const read = { ...stateReader(cx), caller }
  return permissionsOn(read, { level: "org", id: home }, caller.userId).has("user.read")
}

/**
 * The client by which somebody did something, by its name: where it is gone, or the caller neither
 * did it nor may see the application, that is empty. Our own applications everybody knows.
 */
export function clientNameOf(
  cx: Cx,
  { user: editor, client }: Recorded<AnyEvent>["editor"],
): string {
  const { caller } = cx
  const { projectId = "", name = "" } = findClient(cx, client)?.state ?? {}
  if (name === "" || caller.kind !== "user") return name
  const isOwn = cx.store.state(cx, instance, cx.instance).projectId === projectId
  if (isOwn || caller.userId === editor) return name
  const read = { ...stateReader(cx), caller }
  const held = permissionsOn(read, { level: "project", id: projectId }, caller.userId)
  return held.has("project.app.read") ? name : ""
}
