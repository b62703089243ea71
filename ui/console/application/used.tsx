import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { t, useReadIfAllowed } from "../shell/index.ts"

const dayMs = 86_400_000

/** To the day, as uses are noted: what is asked for stays the same while it is waited for. */
const weekAgo = () => timestampFromMs(Math.floor(Date.now() / dayMs) * dayMs - 7 * dayMs)

/** How many people have used an application this week: those who will miss it. */
export function UsedThisWeek({ applicationId }: { readonly applicationId: string }) {
  const asked = { applicationId, since: weekAgo(), pagination: { limit: 1 } }
  const found = useReadIfAllowed(ActivityService.method.listApplicationUses, asked)
  const count = Number(found?.pagination?.totalResult ?? 0)
  return count > 0 && <p>{t("uses.this_week", { count })}</p>
}
