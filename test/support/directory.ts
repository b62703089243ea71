// A simulated directory in memory: it finds users by their uid.
import type { Settings } from "../../src/domain/idp/model.ts"
import type { DirectoryCredentials, DirectorySearch } from "../../src/kernel/port/directory.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { unreachableOutside } from "./outside.ts"

export type Entry = Readonly<Record<string, string>> & { readonly password: string }

export type FakeDirectory = {
  readonly outside: Outside
  /** By uid, in lower case because names are compared case-insensitively; can be changed. */
  readonly people: Record<string, Entry>
  readonly searched: DirectorySearch[]
  readonly proofs: DirectoryCredentials[]
  isDown: boolean
}

export function openDirectory(users: Record<string, Entry>): FakeDirectory {
  const mustAnswer = () => {
    if (directory.isDown) throw new Error("ldaps://ldap.example.com: connection failed")
  }
  const directory: FakeDirectory = {
    people: users,
    searched: [],
    proofs: [],
    isDown: false,
    outside: {
      ...unreachableOutside,
      directories: {
        find: async (search) => {
          mustAnswer()
          directory.searched.push(search)
          const uid = search.name.toLowerCase()
          const entry = directory.people[uid]
          if (!entry) return undefined
          const { password: _, ...values } = entry
          const all = Object.entries({ uid, entryuuid: `id-${uid}`, ...values })
          return {
            dn: `uid=${uid},dc=example,dc=com`,
            values: Object.fromEntries(all.map(([name, value]) => [name, [value]])),
          }
        },
        authenticate: async (_, proof) => {
          mustAnswer()
          directory.proofs.push(proof)
          const uid = /^uid=([^,]*)/.exec(proof.name)?.[1] ?? ""
          return directory.people[uid]?.password === proof.password
        },
      },
    },
  }
  return directory
}

export const directorySettings: Settings = {
  kind: "ldap",
  servers: ["ldaps://ldap.example.com"],
  startTls: false,
  rootCa: "",
  baseDn: "dc=example,dc=com",
  bindDn: "cn=admin,dc=example,dc=com",
  userBase: "dn",
  userObjectClasses: ["inetOrgPerson"],
  userFilters: ["uid"],
  timeoutMs: 5000,
  attributes: {
    id: "",
    givenName: "givenName",
    familyName: "sn",
    displayName: "cn",
    nickName: "",
    userName: "uid",
    email: "mail",
    emailVerified: "mailVerified",
    phone: "",
    phoneVerified: "",
    preferredLanguage: "",
    avatarUrl: "",
    profile: "",
  },
}
