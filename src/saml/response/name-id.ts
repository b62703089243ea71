import type { SamlKeys } from "../../domain/key/index.ts"
import type { UserInfo } from "../../domain/user-lookup/index.ts"
import { type NameIdFormat, nameIdFormats } from "../../xml/names.ts"
import { element, type XmlNode } from "../../xml/write.ts"

/** The user of a NameID, and its recipient. */
export type NameIdSubject = {
  readonly userId: string
  readonly user: UserInfo
  readonly sessionId: string
  /** The entity ID of the service provider. */
  readonly entityId: string
}

/**
 * The NameID of a user for a service provider (SAML Core §8.3); undefined if the user has none of
 * this format. An email address must be verified, otherwise users could impersonate others. Login
 * names are not used, because they can be released and reused.
 */
export function createNameId(
  format: NameIdFormat,
  { userId, user, sessionId, entityId }: NameIdSubject,
  keys: SamlKeys,
): string | undefined {
  if (format === "email") return user.emailVerified ? user.email : undefined
  if (format === "persistent") return keys.persistentNameId(`persistent ${userId} ${entityId}`)
  // §8.3.8: the same within one session, for which alone it is valid.
  return format === "transient"
    ? `_${keys.persistentNameId(`transient ${sessionId} ${entityId}`)}`
    : userId
}

/** SAML Core §2.2.3, with both qualifiers if the format requires them. */
export function buildNameId(
  { format, nameId }: { readonly format: NameIdFormat; readonly nameId: string },
  { self, entityId }: { readonly self: string; readonly entityId: string },
): XmlNode {
  const isPairwise = format === "persistent" || format === "transient"
  const qualifiers = isPairwise ? { NameQualifier: self, SPNameQualifier: entityId } : {}
  return element("saml:NameID", { Format: nameIdFormats[format], ...qualifiers }, nameId)
}
