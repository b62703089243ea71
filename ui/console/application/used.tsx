import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { t, useReadIfAllowed } from "../shell/index.ts"

const weekMs = 7 * 86_400_000

/** How many people have used an application this week: those who will miss it. */
export function UsedThisWeek({ applicationId }: { readonly applicationId: string }) {
  const [since] = useState(() => timestampFromMs(Date.now() - weekMs))
  const pagination = { limit: 1 }
  const asked = { applicationId, since, pagination }
  const found = useReadIfAllowed(ActivityService.method.listApplicationUses, asked)
  const count = Number(found?.pagination?.totalResult ?? 0)
  return count > 0 && <p>{t("uses.this_week", { count })}</p>
}
