/** The package has no types of its own. */
declare module "parse-prometheus-text-format" {
  type Metric = {
    readonly labels?: Readonly<Record<string, string>>
    /** For counters and gauges. */
    readonly value?: string
  }
  type Family = {
    readonly name: string
    readonly type: string
    readonly metrics: readonly Metric[]
  }
  const parse: (text: string) => readonly Family[]

  // biome-ignore lint/style/noDefaultExport: the package has only a default export.
  export { parse as default }
}
