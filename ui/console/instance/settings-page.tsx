import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Histories } from "../list/index.ts"
import { policies } from "../policy/policies.ts"
import { PolicySection } from "../policy/policy-section.tsx"
import { Page, Part, t, useReadIfAllowed } from "../shell/index.ts"
import { Lifetimes } from "./lifetimes.tsx"
import { useOidcSettings } from "./oidc-settings.ts"
import { OidcSwitches } from "./oidc-switches.tsx"
import { Restrictions } from "./restrictions.tsx"
import { Generators } from "./secret-generators.tsx"

/** Loaded beside the rest: it asks for projects, which not everybody here may see. */
const Registration = lazy(async () => ({
  default: (await import("./client-registration.tsx")).Registration,
}))

/** Loaded beside the rest: it has descriptors of its own. */
const Security = lazy(async () => ({ default: (await import("./security-settings.tsx")).Security }))

/** Loaded beside the rest: it asks for users, whom not everybody here may see. */
const UnconfirmedEmails = lazy(async () => ({
  default: (await import("./unconfirmed-emails.tsx")).UnconfirmedEmails,
}))

/** What holds for the whole instance, unless an application says otherwise. */
export function SettingsPage() {
  const settings = useOidcSettings()
  const restrictions = useReadIfAllowed(AdminService.method.getRestrictions)
  return (
    <Page title={t("nav.settings")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("settings.lead")}</p>
      {policies.map((policy) => (
        <Part key={policy.name}>
          <PolicySection policy={policy} place={undefined} />
        </Part>
      ))}
      <Lifetimes settings={settings} />
      <Part>
        <Generators />
      </Part>
      <Part>
        <Security />
      </Part>
      <Part>
        <UnconfirmedEmails />
      </Part>
      {restrictions && <Restrictions restrictions={restrictions} />}
      <OidcSwitches settings={settings} />
      <Part>
        <Registration settings={settings} />
      </Part>
      <Histories of={["policies", "instance", "restrictions"]} />
    </Page>
  )
}
