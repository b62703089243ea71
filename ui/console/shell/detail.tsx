import { Fragment, type ReactNode } from "react"
import { CopyButton } from "../../kit/index.ts"
import { t } from "./text.ts"

type SectionProps = {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A section that contains only labeled values. */
export function FactsSection({ title, rows }: Pick<SectionProps, "title"> & FactsProps) {
  return (
    <Section title={title}>
      <Facts rows={rows} />
    </Section>
  )
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

type Fact = readonly [string, ReactNode]

export type FactsProps = { readonly rows: readonly Fact[] }

/** A labeled identifier with a copy button. */
export const copyableFact = (label: string, value: string): Fact => [
  label,
  <Copyable key={label} value={value} description={label} />,
]

type ValueListProps = { readonly values: readonly string[]; readonly code?: true }

/** Several values, one per line; `code` uses a monospaced font. */
export function ValueList({ values, code }: ValueListProps) {
  return (
    <ul className="value-list">
      {values.map((value) => (
        <li key={value}>{code ? <code>{value}</code> : <bdi>{value}</bdi>}</li>
      ))}
    </ul>
  )
}

/** Labeled values; empty ones are omitted. */
export function Facts({ rows }: FactsProps) {
  const visibleRows = rows.filter(
    ([, value]) => value !== undefined && value !== "" && value !== false,
  )
  return (
    <dl className="facts">
      {visibleRows.map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

type CopyableProps = { readonly value: string; readonly description: string }

/** An identifier with a copy button. */
export function Copyable({ value, description }: CopyableProps) {
  return (
    <span className="value">
      <code>{value}</code>
      <CopyButton
        kind="plain"
        value={value}
        label={t("copy.do")}
        done={t("copy.done")}
        description={description}
      />
    </span>
  )
}
