import { unlessDenied } from "../core.ts"
import { Detail } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { Lifetimes } from "../instance/lifetimes.tsx"
import { readOidcSettings } from "../instance/oidc.ts"
import { Restrictions } from "../instance/restrictions.tsx"
import { OidcSwitches, Security } from "../instance/switches.tsx"
import { useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"

/** What holds for the whole instance, unless an application says otherwise. */
export function SettingsPage() {
  const { t, core } = useHouse()
  const loaded = useLoad("settings", "", async (signal) => {
    const [oidc, security, restrictions] = await Promise.all([
      readOidcSettings(core, signal),
      unlessDenied(core.settings.getSecuritySettings({}, { signal }), undefined),
      unlessDenied(core.admin.getRestrictions({}, { signal }), undefined),
    ])
    return { oidc, security: security?.settings, restrictions }
  })
  const onChanged = loaded.reload
  return (
    <Detail loaded={loaded} crumbs={[]}>
      {({ oidc, security, restrictions }) => (
        <PageFrame title={t("nav.settings")} owner={t("nav.instance")}>
          <p className="quiet section-lead">{t("settings.lead")}</p>
          <Lifetimes settings={oidc} onChanged={onChanged} />
          {security && <Security security={security} onChanged={onChanged} />}
          {restrictions && <Restrictions restrictions={restrictions} onChanged={onChanged} />}
          <OidcSwitches settings={oidc} onChanged={onChanged} />
        </PageFrame>
      )}
    </Detail>
  )
}
