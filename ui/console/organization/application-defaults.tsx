import type { Organization } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import {
  amountFromDuration,
  defineForm,
  durationFromAmount,
  EditSection,
  formatDuration,
} from "../form/index.ts"
import { call, t } from "../shell/index.ts"

const { updateOrganization } = OrganizationService.method

type OrganizationProps = { readonly organization: Organization }

const lifetimes = [
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const

/** Defaults for the organization's applications. */
export function ApplicationDefaults({ organization }: OrganizationProps) {
  const settings = organization.oidcSettings
  return (
    <EditSection
      needs={updateOrganization}
      title={t("app_defaults.title")}
      rows={[
        [t("pkce.title"), t(settings?.pkceRequired ? "pkce.required" : "pkce.optional")],
        ...lifetimes.map((name) => {
          const lifetime = settings?.[name]
          return [t(`lifetime.${name}`), lifetime && formatDuration(lifetime)] as const
        }),
      ]}
      form={defaultsForm(organization)}
    />
  )
}

const defaultsForm = ({ id: organizationId, oidcSettings: settings }: Organization) =>
  defineForm({
    initial: {
      pkceRequired: settings?.pkceRequired ?? false,
      refreshTokenIdleExpiration: amountFromDuration(settings?.refreshTokenIdleExpiration, "days"),
      refreshTokenExpiration: amountFromDuration(settings?.refreshTokenExpiration, "days"),
      refreshTokenGrace: amountFromDuration(settings?.refreshTokenGrace, "seconds"),
    },
    save: ({ pkceRequired, ...amounts }) => {
      const oidcSettings = { pkceRequired, ...toDurations(amounts) }
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

/** Empty values are omitted, so the instance's apply. */
const toDurations = (
  amounts: Readonly<Record<Lifetime, Parameters<typeof durationFromAmount>[0]>>,
) =>
  Object.fromEntries(
    lifetimes.flatMap((name) => {
      const lifetime = durationFromAmount(amounts[name])
      return lifetime ? [[name, lifetime] as const] : []
    }),
  )
