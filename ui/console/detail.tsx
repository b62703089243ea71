import type { ReactNode } from "react"
import { Alert } from "../kit/alert.tsx"
import { CopyButton } from "../kit/copy-button.tsx"
import { Skeleton } from "../kit/skeleton.tsx"
import { useHouse } from "./house.ts"
import type { Loaded } from "./load.ts"
import { type Crumb, PageFrame } from "./page-frame.tsx"

type DetailProps<Value> = {
  readonly loaded: Loaded<Value>
  readonly crumbs: readonly Crumb[]
  readonly children: (value: Value) => ReactNode
}

/** The page of one thing while it is read, and when it can't be. */
export function Detail<Value>({ loaded, crumbs, children }: DetailProps<Value>) {
  const { t } = useHouse()
  if (loaded.status === "ready") return <>{children(loaded.value)}</>
  return (
    <PageFrame title={loaded.status === "loading" ? "…" : t("detail.failed")} crumbs={crumbs}>
      {loaded.status === "loading" ? (
        <Skeleton rows={4} label={t("list.loading")} />
      ) : (
        <Alert tone="danger">{loaded.message}</Alert>
      )}
    </PageFrame>
  )
}

type SectionProps = {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Section({ title, actions, children }: SectionProps) {
  return (
    <section className="section">
      <div className="section-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

type CopyableProps = { readonly value: string; readonly what: string }

/** An identifier with the button that copies it. */
export function Copyable({ value, what }: CopyableProps) {
  const { t } = useHouse()
  return (
    <span className="value">
      <code>{value}</code>
      <CopyButton
        kind="plain"
        value={value}
        label={t("copy.do")}
        done={t("copy.done")}
        what={what}
      />
    </span>
  )
}
