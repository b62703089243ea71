import { Badge } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

const tones = { active: "done", inactive: "quiet", locked: "warning" } as const

type StateProps = { readonly isOn: boolean } | { readonly state: keyof typeof tones }

/** Green for what works, grey for what was turned off, amber for what needs a person. */
export function StateBadge(props: StateProps) {
  const state = "state" in props ? props.state : props.isOn ? "active" : "inactive"
  return <Badge tone={tones[state]}>{t(`state.${state}`)}</Badge>
}
