import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { call, RefusalAlert, Section, t, useAction, useRead } from "../shell/index.ts"
import { KeyList } from "./key-list.tsx"

/** Linked external accounts, and providers that can be linked; empty if there are none. */
export function LinkedAccounts() {
  const { result } = useRead(AuthService.method.listMyLinkedIDPs)
  const { providers } = useRead(ActivityService.method.listLinkableProviders)
  if (result.length === 0 && providers.length === 0) return null
  const links = result.map(({ idpId, idpName, providedUserId, providedUserName }) => ({
    id: `${idpId}/${providedUserId}`,
    name: `${idpName}: ${providedUserName || providedUserId}`,
    link: { idpId, linkedUserId: providedUserId },
  }))
  return (
    <Section title={t("account.linked.title")}>
      <p className="quiet section-lead">{t("account.linked.text")}</p>
      <KeyList
        keys={links}
        removeLabel={t("account.linked.remove")}
        consequence={t("account.linked.remove_text")}
        remove={({ link }) => call(AuthService.method.removeMyLinkedIDP, link)}
      />
      {providers.map((provider) => (
        <LinkableProvider key={provider.idpId} {...provider} />
      ))}
    </Section>
  )
}

/** A provider to link: the browser is redirected to it and back. */
function LinkableProvider({ idpId, name }: { readonly idpId: string; readonly name: string }) {
  const label = t("account.linked.add")
  const begin = useAction(
    () => call(ActivityService.method.startProviderLink, { idpId }),
    ({ url }) => location.assign(url),
  )
  return (
    <div className="way">
      <div className="way-text">
        <h3>{name}</h3>
        <RefusalAlert refusal={begin.refusal} />
      </div>
      <Button
        small
        aria-label={`${label}: ${name}`}
        disabled={begin.busy}
        onClick={() => begin.run()}
      >
        {label}
      </Button>
    </div>
  )
}
