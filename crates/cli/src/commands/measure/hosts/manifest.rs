//! `bakeoff hosts manifest`: an indexed Job for Kubernetes whose pods are generators.
//!
//! The user applies and deletes it; bakeoff does neither. The pods only wait: what they run comes
//! by `kubectl exec`, and ends with it.

use crate::flags::ManifestFlags;
use crate::{exit, output};

/// Seconds after its end at which Kubernetes removes the Job.
const REMOVED_AFTER: u64 = 60;

pub(crate) fn carry_out(flags: &ManifestFlags) -> anyhow::Result<u8> {
    if flags.deadline.as_secs() == 0 {
        return Err(exit::usage("--deadline must be at least 1s"));
    }
    output::result(&manifest(flags))?;
    Ok(exit::DONE)
}

fn manifest(flags: &ManifestFlags) -> String {
    let ManifestFlags {
        generators,
        name,
        namespace,
        image,
        cpus,
        memory,
        ..
    } = flags;
    let deadline = flags.deadline.as_secs();
    format!(
        "# Generators for bakeoff: kubectl apply -f this file, measure, kubectl delete -f it.
# In hosts.toml:
#   [hosts.g]
#   kubectl = {{ namespace = \"{namespace}\", selector = \"app={name}\" }}
#   [roles]
#   generators = [\"g\"]
apiVersion: batch/v1
kind: Job
metadata:
  name: \"{name}\"
  namespace: \"{namespace}\"
spec:
  completionMode: Indexed
  completions: {generators}
  parallelism: {generators}
  backoffLimit: 0
  activeDeadlineSeconds: {deadline}
  ttlSecondsAfterFinished: {REMOVED_AFTER}
  template:
    metadata:
      labels:
        app: \"{name}\"
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 1
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        fsGroup: 65534
        seccompProfile:
          type: RuntimeDefault
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector:
                matchLabels:
                  app: \"{name}\"
              topologyKey: kubernetes.io/hostname
      containers:
        - name: generator
          image: \"{image}\"
          command: [\"sleep\", \"{deadline}\"]
          env:
            - name: HOME
              value: /home/bakeoff
          # Equal, so that the pod has its processors to itself where the node allows it.
          resources:
            requests:
              cpu: \"{cpus}\"
              memory: {memory}Mi
            limits:
              cpu: \"{cpus}\"
              memory: {memory}Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [\"ALL\"]
          volumeMounts:
            - name: home
              mountPath: /home/bakeoff
      volumes:
        - name: home
          emptyDir:
            sizeLimit: 512Mi
"
    )
}
