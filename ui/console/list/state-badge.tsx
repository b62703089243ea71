import { Badge } from "../../kit/badge.tsx"
import { useText } from "../shell/text.ts"

const tones = { active: "done", inactive: "quiet", locked: "warning" } as const

/** Green for what works, grey for what was turned off, amber for what needs a person. */
export function StateBadge({ state }: { readonly state: keyof typeof tones }) {
  const { t } = useText()
  return <Badge tone={tones[state]}>{t(`state.${state}`)}</Badge>
}
