import { Badge } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

const tones = { active: "done", inactive: "quiet", locked: "warning" } as const

type StateBadgeProps = { readonly isOn: boolean } | { readonly state: keyof typeof tones }

/** Green for active, gray for inactive, amber for locked. */
export function StateBadge(props: StateBadgeProps) {
  const state = "state" in props ? props.state : props.isOn ? "active" : "inactive"
  return <Badge tone={tones[state]}>{t(`state.${state}`)}</Badge>
}
