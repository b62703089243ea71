import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { Alert } from "../../kit/index.ts"
import { t, useReadIfAllowed } from "../shell/index.ts"
import type { OidcPart } from "./update-application.ts"

const dayMs = 86_400_000

/**
 * Rounded to the day, like recorded usage, so that the request stays the same while it is loading.
 */
const weekAgo = () => timestampFromMs(Math.floor(Date.now() / dayMs) * dayMs - 7 * dayMs)

/** Number of users of an application this week, who would be affected by its removal. */
export function UsedThisWeek({ applicationId }: { readonly applicationId: string }) {
  const request = { applicationId, since: weekAgo(), pagination: { limit: 1 } }
  const found = useReadIfAllowed(ActivityService.method.listApplicationUses, request)
  const count = Number(found?.pagination?.totalResult ?? 0)
  return count > 0 && <p>{t("uses.this_week", { count })}</p>
}

/** Advice from the application's latest sign-ins that its settings can resolve. */
export function UsageAdvice({ application, oidc }: OidcPart) {
  const { applicationId } = application
  const request = { applicationId, pagination: { limit: 1 } }
  const found = useReadIfAllowed(ActivityService.method.listApplicationUses, request)
  const { droppedScopes = [], profileUnread = false } = found ?? {}
  return (
    <>
      {profileUnread && !oidc.idTokenUserinfoAssertion && (
        <Alert tone="warning" title={t("uses.profile_unread")}>
          {t("uses.profile_unread_text")}
        </Alert>
      )}
      {droppedScopes.length > 0 && (
        <Alert tone="warning" title={t("uses.dropped_scopes")}>
          <p>
            <code>{droppedScopes.join(" ")}</code>
          </p>
          {droppedScopes.includes("offline_access") && <p>{t("uses.dropped_offline_access")}</p>}
        </Alert>
      )}
    </>
  )
}
