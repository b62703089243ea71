import { Alert } from "../kit/alert.tsx"
import { Checks } from "../kit/check.tsx"
import { Skeleton } from "../kit/skeleton.tsx"
import { useHouse } from "./house.ts"
import { useLoad } from "./load.ts"

type Option = { readonly value: string; readonly label: string; readonly hint?: string }

type LoadedChecksProps = {
  readonly about: string
  readonly legend: string
  /** What stands there when there is nothing to choose from. */
  readonly none: string
  readonly read: (signal: AbortSignal) => Promise<readonly Option[]>
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** Any of several that the server knows. */
export function LoadedChecks({ about, none, read, ...checks }: LoadedChecksProps) {
  const { t } = useHouse()
  const found = useLoad(about, "", read)
  if (found.status === "loading") return <Skeleton rows={3} label={t("list.loading")} />
  if (found.status === "failed") return <Alert tone="danger">{found.message}</Alert>
  if (found.value.length === 0) return <p className="quiet">{none}</p>
  return <Checks options={found.value} {...checks} />
}
