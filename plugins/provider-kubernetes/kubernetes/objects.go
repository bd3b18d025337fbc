package kubernetes

import "time"

// The objects of the API, with the fields that are used here.

type meta struct {
	Name                       string            `json:"name,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	OwnerReferences            []ownerReference  `json:"ownerReferences,omitempty"`
	CreationTimestamp          *time.Time        `json:"creationTimestamp,omitempty"`
	DeletionTimestamp          *time.Time        `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds int64             `json:"deletionGracePeriodSeconds,omitempty"`
}

type ownerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type listMeta struct {
	Continue string `json:"continue,omitempty"`
}

type list[T any] struct {
	Metadata listMeta `json:"metadata"`
	Items    []T      `json:"items"`
}

type pod struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Metadata   meta      `json:"metadata"`
	Spec       podSpec   `json:"spec"`
	Status     podStatus `json:"status,omitzero"`
}

type podSpec struct {
	NodeName                      string            `json:"nodeName,omitempty"`
	RestartPolicy                 string            `json:"restartPolicy,omitempty"`
	ActiveDeadlineSeconds         int64             `json:"activeDeadlineSeconds,omitempty"`
	TerminationGracePeriodSeconds *int64            `json:"terminationGracePeriodSeconds,omitempty"`
	AutomountServiceAccountToken  *bool             `json:"automountServiceAccountToken,omitempty"`
	EnableServiceLinks            *bool             `json:"enableServiceLinks,omitempty"`
	ServiceAccountName            string            `json:"serviceAccountName,omitempty"`
	RuntimeClassName              string            `json:"runtimeClassName,omitempty"`
	PriorityClassName             string            `json:"priorityClassName,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	Tolerations                   []toleration      `json:"tolerations,omitempty"`
	ImagePullSecrets              []named           `json:"imagePullSecrets,omitempty"`
	SecurityContext               *securityContext  `json:"securityContext,omitempty"`
	SchedulingGates               []named           `json:"schedulingGates,omitempty"`
	InitContainers                []container       `json:"initContainers,omitempty"`
	Containers                    []container       `json:"containers"`
	Volumes                       []volume          `json:"volumes,omitempty"`
	Overhead                      map[string]string `json:"overhead,omitempty"`
	Affinity                      *affinity         `json:"affinity,omitempty"`
}

type affinity struct {
	NodeAffinity nodeAffinity `json:"nodeAffinity,omitzero"`
}

type nodeAffinity struct {
	Required *nodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

type nodeSelector struct {
	NodeSelectorTerms []nodeSelectorTerm `json:"nodeSelectorTerms"`
}

type nodeSelectorTerm struct {
	MatchExpressions []labelRequirement `json:"matchExpressions,omitempty"`
}

type named struct {
	Name string `json:"name"`
}

type toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          string `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            string `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// securityContext has the fields of a pod's and of a container's.
type securityContext struct {
	RunAsNonRoot             *bool           `json:"runAsNonRoot,omitempty"`
	RunAsUser                *int64          `json:"runAsUser,omitempty"`
	RunAsGroup               *int64          `json:"runAsGroup,omitempty"`
	FSGroup                  *int64          `json:"fsGroup,omitempty"`
	FSGroupChangePolicy      string          `json:"fsGroupChangePolicy,omitempty"`
	AllowPrivilegeEscalation *bool           `json:"allowPrivilegeEscalation,omitempty"`
	SeccompProfile           *seccompProfile `json:"seccompProfile,omitempty"`
	Capabilities             *capabilities   `json:"capabilities,omitempty"`
}

type seccompProfile struct {
	Type string `json:"type"`
}

type capabilities struct {
	Drop []string `json:"drop,omitempty"`
}

type container struct {
	Name                     string           `json:"name"`
	Image                    string           `json:"image,omitempty"`
	Command                  []string         `json:"command,omitempty"`
	Env                      []variable       `json:"env,omitempty"`
	Ports                    []containerPort  `json:"ports,omitempty"`
	Resources                resources        `json:"resources,omitzero"`
	VolumeMounts             []volumeMount    `json:"volumeMounts,omitempty"`
	SecurityContext          *securityContext `json:"securityContext,omitempty"`
	TerminationMessagePolicy string           `json:"terminationMessagePolicy,omitempty"`
	RestartPolicy            string           `json:"restartPolicy,omitempty"` // of a sidecar
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type containerPort struct {
	ContainerPort int `json:"containerPort"`
}

type resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

type volumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

type volume struct {
	Name                  string       `json:"name"`
	EmptyDir              *emptyDir    `json:"emptyDir,omitempty"`
	PersistentVolumeClaim *claimVolume `json:"persistentVolumeClaim,omitempty"`
}

type emptyDir struct {
	Medium string `json:"medium,omitempty"`
}

type claimVolume struct {
	ClaimName string `json:"claimName"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

type podStatus struct {
	Phase                 string            `json:"phase,omitempty"`
	Reason                string            `json:"reason,omitempty"`
	Message               string            `json:"message,omitempty"`
	StartTime             *time.Time        `json:"startTime,omitempty"`
	Conditions            []condition       `json:"conditions,omitempty"`
	ContainerStatuses     []containerStatus `json:"containerStatuses,omitempty"`
	InitContainerStatuses []containerStatus `json:"initContainerStatuses,omitempty"` // the cluster's own
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type containerStatus struct {
	Name  string         `json:"name"`
	State containerState `json:"state"`
}

type containerState struct {
	Waiting    *waitingState    `json:"waiting,omitempty"`
	Running    *runningState    `json:"running,omitempty"`
	Terminated *terminatedState `json:"terminated,omitempty"`
}

type waitingState struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type runningState struct {
	StartedAt *time.Time `json:"startedAt,omitempty"`
}

type terminatedState struct {
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}

type claim struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Metadata   meta      `json:"metadata"`
	Spec       claimSpec `json:"spec"`
	Status     struct {
		Phase    string            `json:"phase,omitempty"`
		Capacity map[string]string `json:"capacity,omitempty"`
	} `json:"status,omitzero"`
}

type claimSpec struct {
	AccessModes      []string  `json:"accessModes,omitempty"`
	Resources        resources `json:"resources,omitzero"`
	StorageClassName string    `json:"storageClassName,omitempty"`
}

type networkPolicy struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   meta              `json:"metadata"`
	Spec       networkPolicySpec `json:"spec"`
}

type networkPolicySpec struct {
	PodSelector labelSelector `json:"podSelector"`
	PolicyTypes []string      `json:"policyTypes,omitempty"`
	Ingress     []rule        `json:"ingress,omitempty"`
	Egress      []rule        `json:"egress,omitempty"`
}

type labelSelector struct {
	MatchLabels      map[string]string  `json:"matchLabels,omitempty"`
	MatchExpressions []labelRequirement `json:"matchExpressions,omitempty"`
}

type labelRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

type node struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Unschedulable bool    `json:"unschedulable,omitempty"`
		Taints        []taint `json:"taints,omitempty"`
	} `json:"spec"`
	Status struct {
		Allocatable map[string]string `json:"allocatable,omitempty"`
		Conditions  []condition       `json:"conditions,omitempty"`
	} `json:"status"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

type resourceQuota struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Scopes        []string `json:"scopes,omitempty"`
		ScopeSelector struct {
			MatchExpressions []scopeTerm `json:"matchExpressions,omitempty"`
		} `json:"scopeSelector,omitzero"`
	} `json:"spec,omitzero"`
	Status struct {
		Hard map[string]string `json:"hard,omitempty"`
		Used map[string]string `json:"used,omitempty"`
	} `json:"status"`
}

type scopeTerm struct {
	ScopeName string   `json:"scopeName"`
	Operator  string   `json:"operator"`
	Values    []string `json:"values,omitempty"`
}

type podEvent struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// workload is Kueue's object for a pod that waits in a queue.
type workload struct {
	Metadata meta `json:"metadata"`
	Status   struct {
		Conditions []condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// localQueue is a queue of Kueue's in a namespace.
type localQueue struct {
	Status struct {
		PendingWorkloads int `json:"pendingWorkloads,omitempty"`
	} `json:"status"`
}

// status is an answer that is an error.
type status struct {
	Message string `json:"message,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Details struct {
		RetryAfterSeconds float64 `json:"retryAfterSeconds,omitempty"`
	} `json:"details"`
}
