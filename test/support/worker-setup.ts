/** Sends the decisions of a run's test environments to another store, as between processes. */
export function setup(): () => void {
  process.env.LATCHKEY_TEST_WORKER = "1"
  return () => {
    delete process.env.LATCHKEY_TEST_WORKER
  }
}
