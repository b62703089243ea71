import type { SamlKeys } from "../../domain/key/index.ts"
import type { UserInfo } from "../../domain/user-lookup/index.ts"
import { type NameIdFormat, nameIdFormats } from "../../xml/names.ts"
import { element, type Written } from "../../xml/write.ts"

/** Whose name it is, and for whom. */
export type Named = {
  readonly userId: string
  readonly user: UserInfo
  readonly sessionId: string
  /** Of the service provider. */
  readonly entityId: string
}

/**
 * The name that a service provider knows somebody by (SAML Core §8.3). Undefined where they have
 * none of this kind. An e-mail address counts once it is verified: whoever could give any would be
 * whom they like. A login name can be given up and taken by somebody else, so it is no name here.
 */
export function nameIdOf(
  format: NameIdFormat,
  { userId, user, sessionId, entityId }: Named,
  keys: SamlKeys,
): string | undefined {
  if (format === "email") return user.emailVerified ? user.email : undefined
  if (format === "persistent") return keys.lastingName(`persistent ${userId} ${entityId}`)
  // §8.3.8: the same for one session, which is all that it is good for.
  return format === "transient"
    ? `_${keys.lastingName(`transient ${sessionId} ${entityId}`)}`
    : userId
}

/** SAML Core §2.2.3; both qualifiers where a name means nothing without them. */
export function nameIdElement(
  { format, nameId }: { readonly format: NameIdFormat; readonly nameId: string },
  { self, entityId }: { readonly self: string; readonly entityId: string },
): Written {
  const isPairwise = format === "persistent" || format === "transient"
  const qualifiers = isPairwise ? { NameQualifier: self, SPNameQualifier: entityId } : {}
  return element("saml:NameID", { Format: nameIdFormats[format], ...qualifiers }, nameId)
}
