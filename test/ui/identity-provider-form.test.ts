// What the form of an identity provider begins with, sends, and warns of.
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import {
  AutoLinkingOption,
  AzureADTenantType,
  ProviderSchema,
} from "../../src/gen/core/idp/v1/idp_pb.ts"
import { creationWarningOf } from "../../ui/console/idp/creation-warning.ts"
import { fieldOf } from "../../ui/console/idp/form-fields.ts"
import { requestOf, type Values, valuesOf } from "../../ui/console/idp/form-values.ts"
import { kindNames } from "../../ui/console/idp/provider-kind.ts"

const fresh = valuesOf(undefined)

describe("a new provider", () => {
  test.each(kindNames)("of the kind %s creates no accounts, and links those that exist", (kind) => {
    expect(requestOf({ ...fresh, kind }, undefined).providerOptions).toMatchObject({
      isCreationAllowed: false,
      isAutoCreation: false,
      allowedDomains: [],
      isLinkingAllowed: true,
      autoLinking: AutoLinkingOption.EMAIL,
      isTrustedForAddresses: false,
    })
  })

  test("of Entra has no tenant, and requires one", () => {
    expect(fresh.tenant).toBe("")
    expect(fieldOf("tenant").optional).toBeUndefined()
    const tenantFor = (tenant: string) =>
      requestOf({ ...fresh, kind: "azureAd", tenant }, undefined).tenant.type
    // The server rejects an empty ID; no tenant at all would mean all of them.
    expect(tenantFor(" ")).toEqual({ case: "tenantId", value: "" })
    expect(tenantFor("contoso.example")).toEqual({ case: "tenantId", value: "contoso.example" })
    expect(tenantFor("common")).toEqual({
      case: "tenantType",
      value: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
    })
  })
})

test("a provider that exists is shown and saved as it is", () => {
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
  const values = valuesOf(provider)
  expect(values).toMatchObject({ tenant: "common", isCreationAllowed: true })
  const saved = requestOf({ ...values, allowedDomains: "a.example\nb.example\n" }, provider)
  expect(saved.tenant.type).toEqual({ case: "tenantType", value: 0 })
  expect(saved.providerOptions).toMatchObject({
    isCreationAllowed: true,
    isAutoCreation: true,
    isTrustedForAddresses: true,
    allowedDomains: ["a.example", "b.example"],
  })
})

describe("the form warns", () => {
  const warning = (values: Partial<Values>) =>
    creationWarningOf({ ...fresh, isCreationAllowed: true, ...values })
  const personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
  const entra = (tenant: string) => ({ kind: "azureAd", tenant }) as const

  test.each([
    ...(["google", "apple", "github", "gitlab"] as const).map((kind) => ({ kind })),
    ...["common", "organizations", "consumers", " Common", personal].map(entra),
  ])("that anybody can get an account: %o", (values) => {
    expect(warning(values)).toBe("anyone")
    expect(warning({ ...values, isCreationAllowed: false })).toBeUndefined()
  })

  test.each(["oidc", "oauth"] as const)("that %s may be open to anybody", (kind) => {
    expect(warning({ kind })).toBe("unknown")
    expect(warning({ kind, allowedDomains: "example.com" })).toBeUndefined()
  })

  test("of no provider of one organization", () => {
    const closed = ["saml", "ldap", "jwt", "githubEs", "gitlabSelfHosted"] as const
    for (const kind of closed) expect(warning({ kind })).toBeUndefined()
    expect(warning(entra("contoso.example"))).toBeUndefined()
  })

  test("where no address is verified, so that the domains admit nobody", () => {
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
