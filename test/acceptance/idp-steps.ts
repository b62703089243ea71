// Requests about identity providers, sent to two instances that use the same IDs.
import { idpForms, vendorBody } from "../support/idps.ts"
import type { Step } from "./instance-steps.ts"

const services = ["core.admin.v1.AdminService", "core.management.v1.ManagementService"] as const

/** One provider of each kind, for the instance and for an organization. */
export const createIdpSteps: readonly Step[] = services.flatMap((service) =>
  idpForms.map(({ name, body }): Step => [`${service}/Add${name}Provider`, body]),
)

export const idpReadSteps: readonly Step[] = [
  ...services.flatMap((service) =>
    ["ListProviders", "ListLoginPolicyIDPs"].map((name): Step => [`${service}/${name}`, {}]),
  ),
  ["core.admin.v1.AdminService/ListIDPs", {}],
  ["core.auth.v1.AuthService/ListMyLinkedIDPs", {}],
]

/** `ids`: the IDs of `idps`, in that order. */
export const idpChangeSteps = (ids: readonly string[]): readonly Step[] =>
  services.flatMap((service, at) => {
    const own = (name: string) => ids[at * idpForms.length + indexOfKind(name)] ?? ""
    const call = (name: string) => `${service}/${name}`
    const oidc = own("GenericOIDC")
    return [
      ...idpForms.map(({ name, body }): Step => {
        return [call(`Update${name}Provider`), { ...body, id: own(name), name: "Renamed" }]
      }),
      ...(at === 0 ? [] : [[call("AddCustomLoginPolicy"), policy] satisfies Step]),
      [call("AddIDPToLoginPolicy"), { idpId: oidc }],
      [call("RegenerateSAMLProviderCertificate"), { id: own("SAML") }],
      [call("GetProviderByID"), { id: oidc }],
      ["core.idp.v2.IdentityProviderService/GetIDPByID", { id: oidc }],
      [call("RemoveIDPFromLoginPolicy"), { idpId: oidc }],
      ...(at === 0 ? [] : [[call("ResetLoginPolicyToDefault"), {}] satisfies Step]),
      [call("MigrateGenericOIDCProvider"), { id: oidc, azure: vendorBody }],
      [call("DeleteProvider"), { id: oidc }],
    ]
  })

const indexOfKind = (kind: string) => idpForms.findIndex(({ name }) => name === kind)
const policy = { allowUsernamePassword: true, allowExternalIdp: true }

const link = { userId: "absent", linkedUserId: "x", idpId: "absent" }

/** No user is linked here, and no login page has started a sign-in. */
export const rejectedIdpSteps: readonly (readonly [...Step, status: number])[] = [
  ["StartProviderTest", { idpId: "absent" }, 404],
  ["GetProviderTest", { testId: "absent", testToken: "absent" }, 400],
  ["StartIdentityProviderIntent", { idpId: "absent" }, 403],
  ["RetrieveIdentityProviderIntent", { idpIntentId: "absent" }, 403],
  ["AddIDPLink", { userId: "absent" }, 404],
  ["ListIDPLinks", { userId: "absent" }, 404],
  ["RemoveIDPLink", link, 404],
  ["core.auth.v1.AuthService/RemoveMyLinkedIDP", link, 400],
]
