import { X509Certificate } from "node:crypto"
import { parseLdapUrl } from "../../protocol/ldap-url.ts"
import { invalidFieldError, validateShortText } from "./field.ts"
import type { DirectoryAttributes, Settings } from "./model.ts"

type Directory = Extract<Settings, { kind: "ldap" }>

const namesMax = 20
const secondsMax = 30
const certificateMax = 12_000

/** Rejects directory settings that can't work, or that would send passwords unencrypted. */
export function validateDirectory(directory: Directory): void {
  const { servers, startTls, rootCa, timeoutMs } = directory
  requireEntries("servers", servers)
  for (const server of servers) validateServerUrl(server, startTls)
  validateShortText("base_dn", directory.baseDn)
  validateShortText("bind_dn", directory.bindDn)
  validateAttribute("user_base", directory.userBase)
  requireEntries("user_object_classes", directory.userObjectClasses)
  for (const name of directory.userObjectClasses) validateAttribute("user_object_classes", name)
  requireEntries("user_filters", directory.userFilters)
  for (const name of directory.userFilters) validateAttribute("user_filters", name)
  if (!(timeoutMs >= 1000 && timeoutMs <= secondsMax * 1000)) {
    throw invalidFieldError("timeout", `must be between 1 and ${secondsMax} seconds`)
  }
  if (rootCa !== "" && !isCertificate(rootCa)) {
    throw invalidFieldError("root_ca", "must be PEM certificates, at most 12,000 bytes")
  }
  validateAttributes(directory.attributes)
}

function requireEntries(field: string, names: readonly string[]): void {
  if (names.length >= 1 && names.length <= namesMax) return
  throw invalidFieldError(field, `must have 1 to ${namesMax} entries`)
}

/** Passwords are sent to these servers, so the connection must be encrypted (RFC 4513 §6.3.4). */
function validateServerUrl(text: string, startTls: boolean): void {
  const server = text.length <= 200 ? parseLdapUrl(text) : undefined
  if (!server) {
    throw invalidFieldError("servers", "must be URLs such as ldaps://ldap.example.com:636")
  }
  const isLocal = /^(localhost|127(\.\d+){3}|::1)$/.test(server.host)
  if (server.isSecure || startTls || isLocal) return
  throw invalidFieldError("servers", "must begin with ldaps://, unless start_tls is enabled")
}

/** RFC 4512 §1.4: an attribute name or its OID, with options (§2.5). */
function validateAttribute(field: string, text: string): void {
  if (/^([a-z][a-z\d-]*|\d+(\.\d+)*)(;[a-z\d-]+)*$/i.test(text) && text.length <= 200) return
  throw invalidFieldError(
    field,
    "must be attribute names of the directory schema, such as uid or mail",
  )
}

function validateAttributes(directory: DirectoryAttributes): void {
  for (const name of Object.values(directory)) {
    if (name !== "") validateAttribute("attributes", name)
  }
}

function isCertificate(pem: string): boolean {
  if (pem.length > certificateMax) return false
  const each = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return each.length > 0 && each.every((one) => new X509Certificate(one).publicKey !== undefined)
  } catch (cause) {
    if (cause instanceof Error) return false
    throw cause
  }
}
