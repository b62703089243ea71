import { Badge } from "../kit/badge.tsx"
import { useHouse } from "./house.ts"
import type { UserStateName } from "./user.ts"

/** What deserves a look gets a colour; what is as it should be stays quiet. */
export function StateBadge({ state }: { readonly state: UserStateName }) {
  const { t } = useHouse()
  return <Badge tone={state === "locked" ? "warning" : "quiet"}>{t(`state.${state}`)}</Badge>
}
