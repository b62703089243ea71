import type { Organization } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { amountOf, durationOf, durationText, EditSection, formOf } from "../form/index.ts"
import { call, t } from "../shell/index.ts"

const { updateOrganization } = OrganizationService.method

type Part = { readonly organization: Organization }

const lifetimes = [
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const

/** What applies to the organization's applications that don't state otherwise. */
export function ApplicationDefaults({ organization }: Part) {
  const settings = organization.oidcSettings
  return (
    <EditSection
      needs={updateOrganization}
      title={t("app_defaults.title")}
      rows={[
        [t("pkce.title"), t(settings?.pkceRequired ? "pkce.required" : "pkce.optional")],
        ...lifetimes.map((name) => {
          const lifetime = settings?.[name]
          return [t(`lifetime.${name}`), lifetime && durationText(lifetime)] as const
        }),
      ]}
      form={defaultsForm(organization)}
    />
  )
}

const defaultsForm = ({ id: organizationId, oidcSettings: settings }: Organization) =>
  formOf({
    initial: {
      pkceRequired: settings?.pkceRequired ?? false,
      refreshTokenIdleExpiration: amountOf(settings?.refreshTokenIdleExpiration, "days"),
      refreshTokenExpiration: amountOf(settings?.refreshTokenExpiration, "days"),
      refreshTokenGrace: amountOf(settings?.refreshTokenGrace, "seconds"),
    },
    save: ({ pkceRequired, ...amounts }) => {
      const oidcSettings = { pkceRequired, ...durationsOf(amounts) }
      return call(updateOrganization, { organizationId, oidcSettings })
    },
    fields: ({ check, duration }) => [
      check("pkceRequired", t("pkce.check"), t("pkce.default_hint")),
      <p key="empty" className="quiet small">
        {t("tokens_of.empty_hint")}
      </p>,
      <div key="lifetimes" className="pair pair-two">
        {lifetimes.map((name) => duration(name, t(`lifetime.${name}`), { fallback: "–" }))}
      </div>,
    ],
  })

type Lifetime = (typeof lifetimes)[number]

/** What is left empty is left out, and so the instance's. */
const durationsOf = (amounts: Readonly<Record<Lifetime, Parameters<typeof durationOf>[0]>>) =>
  Object.fromEntries(
    lifetimes.flatMap((name) => {
      const lifetime = durationOf(amounts[name])
      return lifetime ? [[name, lifetime] as const] : []
    }),
  )
