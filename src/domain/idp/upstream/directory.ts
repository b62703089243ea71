import type { DirectoryPlace } from "../../../kernel/port/directory.ts"
import type { Cx } from "../../../store/index.ts"
import { type Found, secretOf } from "../commands.ts"
import type { Settings } from "../model.ts"
import { directoryIds, directoryProfile } from "./dialect.ts"
import { type Identity, upstreamError } from "./identity.ts"

type Directory = Extract<Settings, { kind: "ldap" }>

/** Somebody whom a directory knows, and has not proved to be yet. */
export type InDirectory = {
  readonly identity: Identity
  /** What was read of the entry, by the names of attributes in small letters. */
  readonly raw: Readonly<Record<string, readonly string[]>>
  /** Whom they bind as. */
  readonly bindName: string
}

/** Who somebody is at a directory by the name that they type; undefined where it is nobody's. */
export async function findInDirectory(
  cx: Cx,
  { idp }: Found,
  name: string,
): Promise<InDirectory | undefined> {
  const { settings } = idp
  if (settings.kind !== "ldap") throw upstreamError("answer_refused")
  const { bindDn, baseDn, userObjectClasses, userFilters, userBase } = settings
  const asked = {
    ...placeOf(settings),
    bindDn,
    bindPassword: secretOf(cx, idp.id),
    baseDn,
    name,
    objectClasses: userObjectClasses,
    filters: userFilters,
    attributes: attributesOf(settings),
  }
  const entry = await cx.outside.directories.find(asked).catch(unreachable)
  if (!entry) return undefined
  const [bindName = ""] = isDn(userBase) ? [entry.dn] : (entry.values[userBase.toLowerCase()] ?? [])
  const identity = directoryProfile(settings.attributes, idp.options)(entry.values)
  return { identity, raw: entry.values, bindName }
}

/** Whether a directory takes a password for somebody's. */
export function isProvedByDirectory(
  cx: Cx,
  { idp }: Found,
  proof: { readonly name: string; readonly password: string },
): Promise<boolean> {
  const { settings } = idp
  if (settings.kind !== "ldap") throw upstreamError("answer_refused")
  return cx.outside.directories.prove(placeOf(settings), proof).catch(unreachable)
}

const placeOf = ({ servers, startTls, rootCa, timeoutMs }: Directory): DirectoryPlace => ({
  servers,
  startTls,
  rootCa,
  timeoutMs,
})

const isDn = (userBase: string): boolean => userBase.toLowerCase() === "dn"

/** All that is read. */
const attributesOf = ({ attributes, userBase }: Directory): readonly string[] => [
  ...new Set([
    ...Object.values(attributes).filter((name) => name !== ""),
    ...directoryIds(attributes),
    ...(isDn(userBase) ? [] : [userBase]),
  ]),
]

function unreachable(cause: unknown): never {
  throw upstreamError("unreachable", cause)
}
