import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Histories } from "../list/index.ts"
import { policies } from "../policy/policies.ts"
import { PolicySection } from "../policy/policy-section.tsx"
import { Page, PagePart, t, useReadIfAllowed } from "../shell/index.ts"
import { TokenDefaults } from "./lifetimes.tsx"
import { useOidcSettings } from "./oidc-settings.ts"
import { OidcSwitches } from "./oidc-switches.tsx"
import { Restrictions } from "./restrictions.tsx"
import { SecretGenerators } from "./secret-generators.tsx"

/** Loaded separately, because it reads projects, which not every caller can see. */
const Registration = lazy(async () => ({
  default: (await import("./client-registration.tsx")).Registration,
}))

/** Loaded separately, because it imports additional descriptors. */
const Security = lazy(async () => ({ default: (await import("./security-settings.tsx")).Security }))

/** Loaded separately, because it reads users, whom not every caller can see. */
const UnconfirmedEmails = lazy(async () => ({
  default: (await import("./unconfirmed-emails.tsx")).UnconfirmedEmails,
}))

/** Settings of the whole instance; applications can override some. */
export function SettingsPage() {
  const settings = useOidcSettings()
  const restrictions = useReadIfAllowed(AdminService.method.getRestrictions)
  return (
    <Page title={t("nav.settings")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("settings.lead")}</p>
      {policies.map((policy) => (
        <PagePart key={policy.name}>
          <PolicySection policy={policy} owner={undefined} />
        </PagePart>
      ))}
      <TokenDefaults settings={settings} />
      <PagePart>
        <SecretGenerators />
      </PagePart>
      <PagePart>
        <Security />
      </PagePart>
      <PagePart>
        <UnconfirmedEmails />
      </PagePart>
      {restrictions && <Restrictions restrictions={restrictions} />}
      <OidcSwitches settings={settings} />
      <PagePart>
        <Registration settings={settings} />
      </PagePart>
      <Histories of={["policies", "instance", "restrictions"]} />
    </Page>
  )
}
