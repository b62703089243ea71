// The initial values, the request, and the warnings of an identity provider's form.
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import {
  AutoLinkingOption,
  AzureADTenantType,
  ProviderSchema,
} from "../../src/gen/core/idp/v1/idp_pb.ts"
import { findCreationWarning } from "../../ui/console/idp/creation-warning.ts"
import { getField } from "../../ui/console/idp/form-fields.ts"
import { type ProviderValues, toFormValues, toRequest } from "../../ui/console/idp/form-values.ts"
import { kindNames } from "../../ui/console/idp/provider-kind.ts"

const fresh = toFormValues(undefined)

describe("a new provider", () => {
  test.each(kindNames)("of the kind %s creates no accounts, and links existing ones", (kind) => {
    expect(toRequest({ ...fresh, kind }, undefined).providerOptions).toMatchObject({
      isCreationAllowed: false,
      isAutoCreation: false,
      allowedDomains: [],
      isLinkingAllowed: true,
      autoLinking: AutoLinkingOption.EMAIL,
      isTrustedForAddresses: false,
    })
  })

  test("for Entra has no tenant, and requires one", () => {
    expect(fresh.tenant).toBe("")
    expect(getField("tenant").optional).toBeUndefined()
    const tenantFor = (tenant: string) =>
      toRequest({ ...fresh, kind: "azureAd", tenant }, undefined).tenant.type
    // The server rejects an empty ID; a missing tenant would mean all tenants.
    expect(tenantFor(" ")).toEqual({ case: "tenantId", value: "" })
    expect(tenantFor("contoso.example")).toEqual({ case: "tenantId", value: "contoso.example" })
    expect(tenantFor("common")).toEqual({
      case: "tenantType",
      value: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
    })
  })
})

test("an existing provider is shown and saved unchanged", () => {
  const provider = create(ProviderSchema, {
    name: "Microsoft",
    config: {
      options: {
        isCreationAllowed: true,
        isAutoCreation: true,
        allowedDomains: ["a.example"],
        isTrustedForAddresses: true,
      },
      config: {
        case: "azureAd",
        value: { clientId: "c", tenant: { type: { case: "tenantType", value: 0 } } },
      },
    },
  })
  const values = toFormValues(provider)
  expect(values).toMatchObject({ tenant: "common", isCreationAllowed: true })
  const saved = toRequest({ ...values, allowedDomains: "a.example\nb.example\n" }, provider)
  expect(saved.tenant.type).toEqual({ case: "tenantType", value: 0 })
  expect(saved.providerOptions).toMatchObject({
    isCreationAllowed: true,
    isAutoCreation: true,
    isTrustedForAddresses: true,
    allowedDomains: ["a.example", "b.example"],
  })
})

describe("the form warns", () => {
  const warning = (values: Partial<ProviderValues>) =>
    findCreationWarning({ ...fresh, isCreationAllowed: true, ...values })
  const personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
  const entra = (tenant: string) => ({ kind: "azureAd", tenant }) as const

  test.each([
    ...(["google", "apple", "github", "gitlab"] as const).map((kind) => ({ kind })),
    ...["common", "organizations", "consumers", " Common", personal].map(entra),
  ])("if anyone can get an account: %o", (values) => {
    expect(warning(values)).toBe("anyone")
    expect(warning({ ...values, isCreationAllowed: false })).toBeUndefined()
  })

  test.each(["oidc", "oauth"] as const)("if %s may be open to anyone", (kind) => {
    expect(warning({ kind })).toBe("unknown")
    expect(warning({ kind, allowedDomains: "example.com" })).toBeUndefined()
  })

  test("not for providers of one organization", () => {
    const closed = ["saml", "ldap", "jwt", "githubEs", "gitlabSelfHosted"] as const
    for (const kind of closed) expect(warning({ kind })).toBeUndefined()
    expect(warning(entra("contoso.example"))).toBeUndefined()
  })

  test("if no address is verified, so that the domains exclude all users", () => {
    const allowedDomains = "example.com"
    expect(warning({ ...entra("contoso.example"), allowedDomains })).toBe("unverified")
    const verified = { emailVerified: true, allowedDomains }
    expect(warning({ ...entra("contoso.example"), ...verified })).toBeUndefined()
    expect(warning({ ...entra("common"), ...verified })).toBe("unverified")
    expect(warning({ kind: "ldap", allowedDomains })).toBe("unverified")
    const ldapEmailVerified = "mailVerified"
    expect(warning({ kind: "ldap", allowedDomains, ldapEmailVerified })).toBeUndefined()
    expect(warning({ kind: "google", allowedDomains })).toBeUndefined()
  })
})
