const metadataNs = "urn:oasis:names:tc:SAML:2.0:metadata"

/** An attribute that a service provider requests in its metadata (SAML Metadata §2.4.4.2). */
export type RequestedAttribute = {
  readonly name: string
  readonly friendlyName: string
  readonly format: "basic" | "uri" | "unspecified" | undefined
  /** The matching user field, by common names of the attribute. */
  readonly field: string | undefined
}

/** The requested attributes in an application's metadata, without duplicates. */
export function parseRequestedAttributes(metadata: Uint8Array): readonly RequestedAttribute[] {
  const text = new TextDecoder().decode(metadata)
  const root = new DOMParser().parseFromString(text, "application/xml").documentElement
  const found = [...root.getElementsByTagNameNS(metadataNs, "RequestedAttribute")].map((each) => ({
    name: each.getAttribute("Name") ?? "",
    friendlyName: each.getAttribute("FriendlyName") ?? "",
    format: parseFormat(each.getAttribute("NameFormat") ?? ""),
  }))
  const first = found.filter(({ name }, at) => found.findIndex((each) => each.name === name) === at)
  return first
    .filter(({ name }) => name !== "")
    .map((each) => ({ ...each, field: findField(each.name) ?? findField(each.friendlyName) }))
}

const parseFormat = (name: string): RequestedAttribute["format"] =>
  (["basic", "uri", "unspecified"] as const).find((each) =>
    name.endsWith(`attrname-format:${each}`),
  )

/** Lower-case OIDs, LDAP names, URI suffixes and common toolkit names. */
const fieldByName: ReadonlyMap<string, string> = new Map([
  ...["uid", "username", "user_name", "0.9.2342.19200300.100.1.1"].map(
    (name) => [name, "userName"] as const,
  ),
  ...["mail", "email", "emailaddress", "email_address", "0.9.2342.19200300.100.1.3"].map(
    (name) => [name, "email"] as const,
  ),
  ...["givenname", "firstname", "first_name", "2.5.4.42"].map(
    (name) => [name, "firstName"] as const,
  ),
  ...["sn", "surname", "lastname", "last_name", "familyname", "2.5.4.4"].map(
    (name) => [name, "lastName"] as const,
  ),
  ...["displayname", "cn", "commonname", "name", "fullname", "2.5.4.3"].map(
    (name) => [name, "displayName"] as const,
  ),
  ["2.16.840.1.113730.3.1.241", "displayName"],
  ...["preferredlanguage", "language", "2.16.840.1.113730.3.1.39"].map(
    (name) => [name, "preferredLanguage"] as const,
  ),
  ...["telephonenumber", "phone", "2.5.4.20"].map((name) => [name, "phone"] as const),
  ...["userid", "user_id", "objectidentifier"].map((name) => [name, "userId"] as const),
  ...["o", "organization", "organizationname", "2.5.4.10"].map(
    (name) => [name, "organizationName"] as const,
  ),
])

const findField = (name: string): string | undefined =>
  fieldByName.get(
    name
      .toLowerCase()
      .replace(/^urn:oid:/, "")
      .replace(/^.*\//, ""),
  )
