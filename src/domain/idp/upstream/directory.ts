import type { DirectoryConnection } from "../../../kernel/port/directory.ts"
import type { Cx } from "../../../store/index.ts"
import type { OwnedIdp } from "../commands.ts"
import type { Settings } from "../model.ts"
import { secretOf } from "../secret.ts"
import { type Identity, upstreamError } from "./identity.ts"
import { directoryIds, directoryProfile } from "./profile.ts"

type Directory = Extract<Settings, { kind: "ldap" }>

/** A user found in a directory, not authenticated yet. */
export type DirectoryUser = {
  readonly identity: Identity
  /** Attributes of the entry, by lower-case name. */
  readonly raw: Readonly<Record<string, readonly string[]>>
  /** The name to bind with. */
  readonly bindName: string
}

/** Finds a user in a directory by the typed name. Returns undefined if there is none. */
export async function findInDirectory(
  cx: Cx,
  { idp }: OwnedIdp,
  name: string,
): Promise<DirectoryUser | undefined> {
  const { settings } = idp
  if (settings.kind !== "ldap") throw upstreamError("answer_refused")
  const { bindDn, baseDn, userObjectClasses, userFilters, userBase } = settings
  const searchOptions = {
    ...connectionOf(settings),
    bindDn,
    bindPassword: secretOf(cx, idp.id),
    baseDn,
    name,
    objectClasses: userObjectClasses,
    filters: userFilters,
    attributes: requestedAttributesOf(settings),
  }
  const entry = await cx.outside.directories.find(searchOptions).catch(throwUnreachable)
  if (!entry) return undefined
  const [bindName = ""] = isDn(userBase) ? [entry.dn] : (entry.values[userBase.toLowerCase()] ?? [])
  const identity = directoryProfile(settings.attributes, idp.options)(entry.values)
  return { identity, raw: entry.values, bindName }
}

/** Whether the directory accepts the password of a user. */
export function verifyDirectoryPassword(
  cx: Cx,
  { idp }: OwnedIdp,
  proof: { readonly name: string; readonly password: string },
): Promise<boolean> {
  const { settings } = idp
  if (settings.kind !== "ldap") throw upstreamError("answer_refused")
  return cx.outside.directories.authenticate(connectionOf(settings), proof).catch(throwUnreachable)
}

const connectionOf = ({
  servers,
  startTls,
  rootCa,
  timeoutMs,
}: Directory): DirectoryConnection => ({
  servers,
  startTls,
  rootCa,
  timeoutMs,
})

const isDn = (userBase: string): boolean => userBase.toLowerCase() === "dn"

/** The attributes to request. */
const requestedAttributesOf = ({ attributes, userBase }: Directory): readonly string[] => [
  ...new Set([
    ...Object.values(attributes).filter((name) => name !== ""),
    ...directoryIds(attributes),
    ...(isDn(userBase) ? [] : [userBase]),
  ]),
]

function throwUnreachable(cause: unknown): never {
  throw upstreamError("unreachable", cause)
}
