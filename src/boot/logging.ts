import {
  configureSync,
  type FormattedValues,
  getLogger,
  getTextFormatter,
  jsonLinesFormatter,
  type Logger,
} from "@logtape/logtape"
import type { Config } from "../kernel/config.ts"

/** Indents continuation lines, so that text from clients can't imitate a log record. */
const textOf = ({ timestamp, level, category, message }: FormattedValues): string =>
  `${timestamp} [${level}] ${category}: ${message.replace(lineEnd, "\n    ")}`

const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/**
 * Sends the log to standard error, as text or as JSON lines. Standard output is reserved for the
 * results of commands.
 */
export function openLog({ logLevel, logFormat }: Config): Logger {
  const format = logFormat === "json" ? jsonLinesFormatter : getTextFormatter({ format: textOf })
  configureSync({
    reset: true,
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: "latchkey", lowestLevel: logLevel, sinks: ["stderr"] },
      // The library's own messages, only about errors of the logging itself.
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["stderr"] },
    ],
  })
  return getLogger("latchkey")
}
